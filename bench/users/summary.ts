/** What a run of load shows: one line while it goes on, a table, a histogram and a verdict when it is over. */
import type { Limits, Plan } from './plan.ts';
import type { Tally, Times } from './tally.ts';

export interface Result {
  readonly plan: Plan;
  readonly tally: Tally;
  /** How long was measured. */
  readonly seconds: number;
  readonly expected: number;
  readonly closed: number;
  /** Share of a core that the load itself used. */
  readonly loadBusy: number;
  readonly problems: readonly string[];
}

const BAR_WIDTH = 40;
const BUSY_MAX = 0.9;

const ms = (value: number): string => (value < 10 ? value.toFixed(2) : value.toFixed(value < 100 ? 1 : 0));
const count = (value: number): string => Math.round(value).toLocaleString('en');

/** Of one second. */
export function liveLine(
  elapsedSeconds: number,
  { tally, sent, arrived, closed }: { tally: Tally; sent: number; arrived: number; closed: number },
): string {
  const { recent } = tally;
  const clock = `${String(Math.floor(elapsedSeconds / 60)).padStart(2, '0')}:${String(Math.floor(elapsedSeconds % 60)).padStart(2, '0')}`;
  return `${clock}  sent ${count(sent)}/s  arrived ${count(arrived)}/s  p50 ${ms(recent.ms(50))} ms  p99 ${ms(recent.ms(99))} ms  max ${ms(recent.ms(100))} ms  closed ${closed}`;
}

export function summaryOf(result: Result): string {
  const { plan, tally, seconds, expected, closed } = result;
  const rows: [string, string][] = [
    ['rooms × clients', `${count(plan.rooms)} × ${count(plan.clients)} = ${count(plan.rooms * plan.clients)}`],
    ['measured', `${seconds.toFixed(1)} s of ${plan.work}`],
    [
      'sent',
      `${count(tally.sent)} (${count(tally.sent / seconds)}/s of ${count(plan.rooms * plan.clients * plan.rate)}/s wanted)`,
    ],
    ['arrived', `${count(tally.arrived)} (${count(tally.arrived / seconds)}/s) of ${count(expected)}`],
    ['lost', count(expected - tally.arrived)],
    ['closed sockets', count(closed)],
    ...(plan.work === 'storage' ? [['acknowledged, ms', percentiles(tally.own)] as [string, string]] : []),
    ['heard by others, ms', percentiles(tally.others)],
    ['load used', `${(result.loadBusy * 100).toFixed(0)} % of a core`],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const table = rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join('\n');
  return [
    table,
    '',
    histogramOf(tally.judged, plan.work === 'storage' ? 'acknowledged' : 'heard by others'),
    ...notesOf(result),
  ].join('\n');
}

function notesOf({ loadBusy, problems }: Result): string[] {
  const own =
    loadBusy > BUSY_MAX
      ? ['the load itself was the limit: times are longer than the server made them; use fewer clients, or more machines']
      : [];
  return [...own, ...problems].map((note) => `  ! ${note}`);
}

function percentiles(times: Times): string {
  return `p50 ${ms(times.ms(50))}  p90 ${ms(times.ms(90))}  p99 ${ms(times.ms(99))}  p99.9 ${ms(times.ms(99.9))}  max ${ms(times.ms(100))}`;
}

const SHARES = [1, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100];

/** By percentile: how long the slowest of so many took. */
export function histogramOf(times: Times, title: string): string {
  const most = Math.max(times.ms(100), 1e-9);
  const scale = (value: number): number => Math.log1p(value) / Math.log1p(most);
  const lines = SHARES.map((share) => {
    const value = times.ms(share);
    return `  ${share.toString().padStart(5)} %  ${ms(value).padStart(8)} ms  ${'█'.repeat(Math.max(1, Math.round(scale(value) * BAR_WIDTH)))}`;
  });
  return [`  ${title}: so many took no longer than (bars are logarithmic)`, ...lines].join('\n');
}

/** Which limits were not kept, in words; none when all is well. */
export function missedLimits({
  tally,
  expected,
  closed,
  plan: { limits },
}: Pick<Result, 'tally' | 'expected' | 'closed' | 'plan'>): string[] {
  const found: Limits = { p50Ms: tally.judged.ms(50), p99Ms: tally.judged.ms(99), lost: expected - tally.arrived, closed };
  const flags = { p50Ms: '--p50-ms-max', p99Ms: '--p99-ms-max', lost: '--lost-max', closed: '--closed-max' } as const;
  return (Object.keys(flags) as (keyof Limits)[])
    .filter((name) => found[name] > limits[name])
    .map((name) => `${flags[name]} is ${limits[name]}, and it was ${name.endsWith('Ms') ? ms(found[name]) : count(found[name])}`);
}
