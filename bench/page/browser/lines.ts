/** Draws the curves of the page: one small chart for every figure that stands for its data. Runs in the browser. */
import UPlot from 'uplot';

interface Curve {
  readonly points: readonly string[];
  readonly median: (number | null)[];
  readonly least: (number | null)[];
  readonly most: (number | null)[];
}

const HEIGHT = 180;
const drawn: { readonly plot: UPlot; readonly place: HTMLElement }[] = [];

function draw(): void {
  for (const { plot } of drawn.splice(0)) plot.destroy();
  for (const place of document.querySelectorAll<HTMLElement>('[data-curve]')) {
    const curve = JSON.parse(place.dataset.curve!) as Curve;
    const data = [curve.points.map((_, index) => index), curve.median, curve.least, curve.most] as UPlot.AlignedData;
    drawn.push({ plot: new UPlot(optionsFor(curve, place), data, place), place });
  }
}

/** Points stand at equal distances, each some times the one before: as on a logarithmic axis that has a zero. */
function optionsFor({ points }: Curve, place: HTMLElement): UPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const [ink, line, accent] = ['--ink-2', '--line', '--mine'].map((name) => style.getPropertyValue(name).trim()) as [
    string,
    string,
    string,
  ];
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif' };
  const edge = { stroke: accent, width: 0.5, dash: [2, 3], points: { show: false } };
  return {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    padding: [10, 24, 0, 0],
    scales: {
      x: { time: false, range: [0, Math.max(1, points.length - 1)] },
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.15 : 1] },
    },
    axes: [
      { ...axis, splits: () => points.map((_, index) => index), values: (_, splits) => splits.map((at) => points[at] ?? '') },
      { ...axis, size: 52, values: (_, splits) => splits.map((value) => value.toLocaleString('en')) },
    ],
    series: [{}, { stroke: accent, width: 2, points: { show: true, size: 6, fill: accent } }, edge, edge],
  };
}

draw();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
addEventListener('resize', () => {
  for (const { plot, place } of drawn) plot.setSize({ width: place.clientWidth, height: HEIGHT });
});
