// Interactive figures for people who do not see them: each slider gets a name and says its value, and the description
// of the picture that a slider brings up is spoken.
(() => {
  const shown = (box) => [...box.querySelectorAll("img")].find((image) => image.checkVisibility());

  function name(slider) {
    const handle = slider.querySelector(".noUi-handle");
    const label = slider.querySelector(".widget-label");
    const readout = slider.querySelector(".widget-readout");
    if (!handle || !label || !readout) return;
    if (label.title === "null") label.removeAttribute("title");
    if (handle.getAttribute("aria-label") !== label.textContent) handle.setAttribute("aria-label", label.textContent);
    if (handle.getAttribute("aria-valuetext") !== readout.textContent)
      handle.setAttribute("aria-valuetext", readout.textContent);
  }

  function watch(box) {
    const voice = document.createElement("p");
    voice.className = "iclr26-voice";
    voice.setAttribute("aria-live", "polite");
    box.after(voice);
    let last = null;
    const update = () => {
      box.querySelectorAll(".widget-slider").forEach(name);
      const image = shown(box);
      if (!image || image.alt === last) return;
      if (last !== null) voice.textContent = image.alt; // silent until a slider has been moved
      last = image.alt;
    };
    new MutationObserver(() => requestAnimationFrame(update)).observe(box, {
      subtree: true, childList: true, characterData: true, attributes: true,
    });
    update();
  }

  function find() {
    document.querySelectorAll(".iclr26-interactive:not([data-watched])").forEach((box) => {
      box.dataset.watched = "yes";
      watch(box);
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    new MutationObserver(find).observe(document.body, { subtree: true, childList: true });
    find();
  });
})();
