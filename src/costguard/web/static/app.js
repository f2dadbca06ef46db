// The spend chart. Everything else on the page is server-rendered and refreshed by htmx.
document.addEventListener("DOMContentLoaded", () => {
  const box = document.getElementById("chart");
  if (!box || !window.echarts) return;
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const chart = echarts.init(box, null, { renderer: "svg" });
  const series = (name, key, tint) => ({
    name, type: "line", stack: "spend", step: "end", showSymbol: false, animation: false,
    lineStyle: { width: 0 }, itemStyle: { color: colour(tint) }, areaStyle: { color: colour(tint), opacity: 0.75 }, data: key,
  });
  const draw = async () => {
    const answer = await fetch(box.dataset.src);
    if (!answer.ok) return;
    const d = await answer.json();
    chart.setOption({
      aria: { enabled: true },
      grid: { left: 8, right: 16, top: 30, bottom: 8, containLabel: true },
      legend: { top: 0, left: 8, icon: "roundRect", itemWidth: 12, itemHeight: 8, textStyle: { color: colour("--soft") } },
      tooltip: { trigger: "axis", valueFormatter: (v) => d.symbol + Number(v).toFixed(2) + d.unit },
      xAxis: { type: "category", data: d.times, boundaryGap: false, axisLabel: { color: colour("--soft"), hideOverlap: true }, axisLine: { lineStyle: { color: colour("--line") } } },
      yAxis: { type: "value", axisLabel: { color: colour("--soft"), formatter: d.symbol + "{value}" }, splitLine: { lineStyle: { color: colour("--line") } } },
      series: [series(d.names.active, d.active, "--busy"), series(d.names.unknown, d.unknown, "--unknown"), series(d.names.idle, d.idle, "--idle")],
    });
  };
  draw();
  setInterval(draw, 4000);
  addEventListener("resize", () => chart.resize());
});
