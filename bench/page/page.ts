/** Records → one HTML page that needs nothing else: bars of ratios with their predictions, curves for what grows. Text in, text out. */
import type { Case, Target, Variant } from '../case.ts';
import { METRICS, type Metric } from '../metrics.ts';
import type { CaseRecord } from '../record.ts';
import { comparedWith, ratio, runsOf, subjectsIn, summaryIn, times, verdictOn, wantedOf } from '../verdict.ts';

export interface Entry {
  readonly theCase: Case;
  readonly record: CaseRecord;
}

/** What the page is made of besides its figures. */
interface Parts {
  readonly script: string;
  readonly styles: readonly string[];
}

/** Ratios beyond these end at the edge of their chart; their text says how much it is. */
const RATIO_SPAN = 16;

export function chartsPage(entries: readonly Entry[], { script, styles }: Parts): string {
  const sections = entries.map((entry) => (entry.theCase.grows === undefined ? caseSection(entry) : curveSection(entry)));
  const links = entries.map(({ theCase }) => `<a href="#${theCase.name}">${escaped(theCase.name)}</a>`);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Atrium: results of the benches</title>
<style>${styles.join('\n')}</style>
<main>
<h1>Results</h1>
<p>Medians over the rounds. A bar shows a server of ours as a multiple of a peer; it begins at 1×, where both are equal, and ▏ is the prediction.
<span class="better">This colour</span>: as predicted or, where nothing was, in our favour; <span class="worse">this one</span>: not. raw-uws is the floor,
a relay that keeps and checks nothing: nobody is expected below it; raw-uws-commits has each write in Postgres before it says so. Figures, spread and limits: RESULTS.md, README.md.</p>
<nav>${links.join(' ')}</nav>
${sections.join('\n')}
</main>
<script>${script.replaceAll('</script', '<\\/script')}</script>
</html>
`;
}

function caseSection({ theCase, record }: Entry): string {
  const bars = theCase.variants.flatMap((variant) =>
    theCase.metrics.flatMap((metric) => barsOf(theCase, { record, metric, variant })),
  );
  return section({ theCase, record }, bars.length === 0 ? '' : `<div class="bars">${bars.join('')}</div>`);
}

function section({ theCase, record }: Entry, content: string): string {
  const { takenAtIso, commit, isDirty, cores, cpu, node } = record.circumstances;
  const where = `${takenAtIso.slice(0, 10)}, commit ${commit}${isDirty ? ' with changes' : ''}, ${cores} × ${cpu}, Node ${node}, ${record.rounds} × ${record.seconds} s`;
  const problems = record.runs.filter((run) => run.problems.length > 0).length;
  const doubt =
    problems === 0 ? '' : `<p class="worse">${problems} of ${record.runs.length} runs are not to be trusted: see RESULTS.md.</p>`;
  const verdicts = theCase.targets.flatMap((target) => verdictLines(theCase, target, record));
  return `<section id="${theCase.name}"><h2>${escaped(theCase.name)}</h2><p>${escaped(theCase.question)}</p>${content}${doubt}
<ul>${verdicts.join('')}</ul><p class="where">${escaped(where)}</p></section>`;
}

/** One for each server of ours that has this figure. */
function verdictLines(theCase: Case, target: Target, { runs }: CaseRecord): string[] {
  return subjectsIn(theCase, runs).flatMap((own) => {
    const { measured, holds, on } = verdictOn(own, target, runs);
    if (holds === null) return [];
    const word = holds ? '<b class="better">holds</b>' : '<b class="worse">missed</b>';
    const predicted = [wantedOf(target), comparedWith(target)].filter((part) => part !== null).join(' ');
    const what = `${target.variant}, ${METRICS[target.metric].title} of ${own}: ${measured}, predicted ${predicted}`;
    const doubt = on.some(({ problems }) => problems.length > 0) ? ' (a run is not to be trusted)' : '';
    return [`<li>${word} ${escaped(what)}${doubt}</li>`];
  });
}

interface Bars {
  readonly record: CaseRecord;
  readonly metric: Metric;
  readonly variant: Variant;
}

/** One for each server of ours and peer that have this figure. The rate of an open loop is given, so its ratio says nothing: it needs a prediction to be shown. */
function barsOf(theCase: Case, { record: { runs }, metric, variant }: Bars): string[] {
  const targets = theCase.targets.filter((target) => target.variant === variant.name && target.metric === metric);
  if (!METRICS[metric].compared || (metric === 'perSecond' && targets.length === 0)) return [];
  return subjectsIn(theCase, runs).flatMap((own) =>
    theCase.peers.flatMap(({ name: peer }) => {
      const value = ratio(metric, runsOf(runs, variant.name, own), runsOf(runs, variant.name, peer));
      if (value === null) return [];
      const target = targets.find(({ against }) => against === peer);
      const label = `${variant.name}, ${METRICS[metric].title}: ${own} ÷ ${peer}`;
      return [
        `<div class="label">${escaped(label)}</div>${bar(value, { metric, target })}<div class="value">${times(value)}</div>`,
      ];
    }),
  );
}

function bar(value: number, { metric, target }: { metric: Metric; target: Target | undefined }): string {
  const expected = target?.limit ?? (metric === 'perSecond' ? { atLeast: 1 } : { atMost: 1 });
  const isBetter = 'atMost' in expected ? value <= expected.atMost : value >= expected.atLeast;
  const [from, to] = [placeOf(Math.min(1, value)), placeOf(Math.max(1, value))];
  const limit = target === undefined ? null : 'atMost' in target.limit ? target.limit.atMost : target.limit.atLeast;
  const mark = limit === null ? '' : `<i class="limit" style="left:${placeOf(limit)}%" title="predicted ${limit}×"></i>`;
  return `<div class="bar"><i class="fill ${isBetter ? 'good' : 'bad'}" style="left:${from}%;width:${Math.max(0.3, to - from).toFixed(1)}%"></i>${mark}</div>`;
}

/** Percent of the width; 1× is in the middle, and twice as far to the right as half is to the left. */
function placeOf(ratio: number): number {
  const bounded = Math.min(RATIO_SPAN, Math.max(1 / RATIO_SPAN, ratio));
  return Number((50 + (Math.log(bounded) / Math.log(RATIO_SPAN)) * 50).toFixed(1));
}

function curveSection(entry: Entry): string {
  const { theCase } = entry;
  const shown = theCase.metrics.filter((metric) => !['completeness', 'loadBusy', 'othersBusy', 'perSecond'].includes(metric));
  const figures = shown.map((metric) => curve(entry, metric)).filter((figure) => figure !== null);
  return section(entry, `<div class="curves">${figures.join('')}</div>`);
}

/** Null when fewer than two points have this figure. */
function curve({ theCase, record }: Entry, metric: Metric): string | null {
  const points = theCase.variants.filter(({ at }) => at !== undefined);
  const values = points.map(({ name }) => summaryIn(runsOf(record.runs, name, theCase.subjects[0]!.name), metric));
  if (values.filter((value) => value !== null).length < 2) return null;
  const data = {
    points: points.map(({ at }) => shortly(at!)),
    median: values.map((value) => value?.median ?? null),
    least: values.map((value) => value?.least ?? null),
    most: values.map((value) => value?.most ?? null),
  };
  const title = METRICS[metric].title;
  return `<figure><figcaption>${escaped(title)} <small>by ${escaped(theCase.grows!)}</small></figcaption>
<div data-curve="${escaped(JSON.stringify(data))}" role="img" aria-label="${escaped(`${title} at ${data.points.join(', ')}: ${data.median.join(', ')}`)}"></div></figure>`;
}

function shortly(count: number): string {
  return count.toLocaleString('en', { notation: 'compact' });
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
