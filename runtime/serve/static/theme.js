// Before the first paint: the theme that was chosen here, else the system's. Classic script, so that it runs at once.
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("gamer-theme"); } catch { /* storage may be off */ }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
