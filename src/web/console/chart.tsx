/** A small line chart that moves. */
import { useEffect, useRef } from 'react';
import UPlot from 'uplot';

export interface Line {
  readonly name: string;
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  readonly title: string;
  readonly unit: string;
  readonly seconds: readonly number[];
  readonly lines: readonly Line[];
}

const HEIGHT = 92;
const COLORS = ['--accent', '--busy'];

export function Chart({ title, unit, seconds, lines }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const names = lines.map(({ name }) => name).join('/');

  useEffect(() => {
    const element = place.current!;
    const made = new UPlot(optionsFor(names.split('/'), element), [[]], element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [names]);

  useEffect(() => {
    plot.current?.setData([[...seconds], ...lines.map(({ values }) => [...values])] as UPlot.AlignedData);
  }, [seconds, lines]);

  const now = lines.map(({ name, values }) => `${name === '' ? '' : `${name} `}${readable(values.at(-1) ?? 0)}`).join(', ');
  return (
    <figure className="chart">
      <figcaption>
        <span>{title}</span>
        <strong>
          {now} {unit}
        </strong>
      </figcaption>
      <div ref={place} role="img" aria-label={`${title}: ${now} ${unit}`} />
    </figure>
  );
}

function optionsFor(names: readonly string[], element: HTMLElement): UPlot.Options {
  const style = getComputedStyle(element);
  const colorOf = (name: string) => resolved(style.getPropertyValue(name), element);
  const axis = {
    stroke: colorOf('--ink-2'),
    grid: { stroke: colorOf('--line'), width: 1 },
    ticks: { show: false },
    font: '11px sans-serif',
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    padding: [6, 4, 6, 0],
    scales: { y: { range: (_, __, most) => [0, Math.max(most * 1.15, 1)] } },
    axes: [
      { ...axis, show: false },
      { ...axis, size: 40, space: 28, values: (_, splits) => splits.map(readable) },
    ],
    series: [
      {},
      ...names.map((label, index) => ({
        label,
        stroke: colorOf(COLORS[index % COLORS.length]!),
        width: 1.6,
        points: { show: false },
        ...(index === 0 && { fill: colorOf('--accent-soft') }),
      })),
    ],
  };
}

/** A canvas knows no light-dark(): the browser says what the colour is here. */
function resolved(color: string, element: HTMLElement): string {
  const probe = document.createElement('span');
  probe.style.color = color;
  element.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

export function readable(value: number): string {
  if (Number.isInteger(value) && value < 10_000) return String(value);
  if (value < 10) return value.toFixed(value < 1 ? 2 : 1);
  return value < 10_000 ? String(Math.round(value)) : `${Math.round(value / 1_000)}k`;
}
