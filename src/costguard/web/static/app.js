// The spend chart, and what a refresh must not undo. Everything else is rendered by the server and refreshed by htmx.

// A part is swapped whole: groups that the reader opened or closed stay so.
const chosen = new Map();
document.addEventListener("toggle", (event) => {
  if (event.target.tagName === "DETAILS" && event.target.id) chosen.set(event.target.id, event.target.open);
}, true);
document.addEventListener("htmx:afterSwap", (event) => {
  for (const group of event.target.querySelectorAll("details[id]")) {
    if (chosen.has(group.id)) group.open = chosen.get(group.id);
  }
});

document.addEventListener("DOMContentLoaded", () => {
  const box = document.getElementById("chart");
  if (!box || !window.echarts) return;
  let chart = null;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const money = (d) => (value) => d.symbol + Number(value).toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const series = (d, activity) => ({
    name: d.names[activity], type: "line", stack: "spend", showSymbol: false, animation: false,
    lineStyle: { width: 0 }, emphasis: { disabled: true },
    itemStyle: { color: colour("--" + activity) }, areaStyle: { color: colour("--" + activity), opacity: 1 }, data: d[activity],
  });
  // Built by hand, as text nodes: no name ever becomes markup.
  const tip = (d) => (points) => {
    const box = document.createElement("div");
    const row = (label, value) => { const line = box.appendChild(document.createElement("div")); line.className = "tip"; line.append(label, value); };
    row(points[0].axisValue, "");
    for (const point of [...points].reverse()) row(point.seriesName, money(d)(point.value));
    row(d.total, money(d)(points.reduce((sum, point) => sum + point.value, 0)) + d.unit);
    return box;
  };
  const draw = async () => {
    const answer = await fetch(box.dataset.src);
    if (!answer.ok) return;
    const d = await answer.json();
    if (d.times.length < 2) return;
    if (!chart) { box.replaceChildren(); chart = echarts.init(box); }
    const soft = { color: colour("--soft"), fontFamily: "inherit" }, line = { lineStyle: { color: colour("--line") } };
    chart.setOption({
      grid: { left: 12, right: 20, top: 32, bottom: 8, containLabel: true },
      legend: { top: 0, right: 12, icon: "roundRect", itemWidth: 10, itemHeight: 10, itemGap: 16, textStyle: soft, selectedMode: false },
      tooltip: { trigger: "axis", confine: true, formatter: tip(d), backgroundColor: colour("--card"), borderColor: colour("--line"), textStyle: { color: colour("--ink") } },
      xAxis: { type: "category", data: d.times, boundaryGap: false, axisLabel: { ...soft, hideOverlap: true }, axisTick: { show: false }, axisLine: line },
      yAxis: { type: "value", splitNumber: 4, axisLabel: { ...soft, formatter: (value) => d.symbol + value.toLocaleString("en") }, splitLine: line },
      series: ["active", "unknown", "idle"].map((activity) => series(d, activity)),
    });
  };
  draw();
  setInterval(draw, 1000 * Number(box.dataset.every));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("resize", () => chart && chart.resize());
});
