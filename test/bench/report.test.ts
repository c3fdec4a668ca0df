import { describe, expect, it } from 'vitest';
import { limits } from '../../bench/load/limits.ts';
import type { CaseRecord, Run } from '../../bench/record.ts';
import { resultsPage } from '../../bench/report.ts';

const [CALM, TROUBLE] = limits.variants.map(({ name }) => name) as [string, string];

function run(variant: string, problems: readonly string[] = []): Run {
  return { round: 1, variant, server: 'atrium', values: { p99Ms: 1, refusedPerSecond: 100 }, problems };
}

function pageOf(...runs: readonly Run[]): string[] {
  const circumstances = {
    takenAtIso: '2026-01-01T00:00:00.000Z',
    commit: 'abc',
    isDirty: false,
    cpu: 'one',
    cores: 2,
    system: 'linux',
    node: 'v20',
    isPinned: true,
    loadAverage: 0,
  };
  const record: CaseRecord = { caseName: limits.name, seconds: 8, rounds: 1, circumstances, runs };
  return resultsPage([{ theCase: limits, record }]).split('\n');
}

describe('the results page', () => {
  it('marks each verdict and each row that stands on a run with problems', () => {
    const lines = pageOf(run(CALM), run(TROUBLE, ['client 1 was closed with 1013']));
    const row = `| ${TROUBLE}: p99 ms | “${CALM}” | ≤ 2× | 1.00× holds § | – |`;
    expect(lines).toContain(row);
    expect(lines.filter((line) => line.startsWith('| atrium §'))).toHaveLength(1);
  });

  it('marks nothing where there were none', () => {
    const marked = pageOf(run(CALM), run(TROUBLE)).filter((line) => line.startsWith('|') && line.includes('§'));
    expect(marked).toEqual([]);
  });
});
