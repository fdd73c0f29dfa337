// The one string that a script of this page may turn into markup: Leaflet asks with it whether the browser draws SVG. Everything else is refused, as by
// `trusted-types 'none'`. Imported before Leaflet.

globalThis.trustedTypes?.createPolicy("default", { createHTML: (text) => (text === "<svg/>" ? text : null) });
