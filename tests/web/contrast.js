// WCAG contrast of every text against what is painted behind it: {element: "ratio text"} of those below 4.5 (large: 3).
() => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (text) => {
    if (!known.has(text)) {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = text;
      context.fillRect(0, 0, 1, 1);
      known.set(text, [...context.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(text);
  };
  const linear = (c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (node) => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3]) layers.push(colour);
      if (colour[3] === 255) break;
    }
    return layers.reverse().reduce((under, [r, g, b, a]) => [r, g, b].map((v, i) => (v * a + under[i] * (255 - a)) / 255), [255, 255, 255]);
  };
  const poor = {};
  for (const node of document.querySelectorAll("main *, header *, footer")) {
    const says = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!says || !node.offsetParent || node.closest(".avatar")) continue;
    const style = getComputedStyle(node);
    const [light, dark] = [luminance(rgba(style.color)), luminance(behind(node))].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    const large = parseFloat(style.fontSize) >= 18.6 && style.fontWeight >= 700;
    if (ratio < (large ? 3 : 4.5)) poor[`${node.tagName}.${node.className}`] = `${ratio.toFixed(2)} ${node.textContent.trim().slice(0, 20)}`;
  }
  return poor;
}
