/** What is kept of a case: its runs, and where, when and on which code they were taken. One JSON file per case in `results/`. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release } from 'node:os';
import type { Case, Outcome } from './case.ts';
import { canPin } from './processes.ts';

export interface Run extends Outcome {
  readonly round: number;
  readonly variant: string;
  readonly server: string;
  /** How many were thrown away for it, because too much was stolen in their windows. Absent: older than that rule. */
  readonly retaken?: number;
}

export interface Circumstances {
  readonly takenAtIso: string;
  readonly commit: string;
  /** Whether the tree held changes that no commit has. */
  readonly isDirty: boolean;
  readonly cpu: string;
  readonly cores: number;
  readonly system: string;
  readonly node: string;
  readonly isPinned: boolean;
  /** Runnable processes over the last minute, before the case began: what others do to the figures. */
  readonly loadAverage: number;
}

export interface CaseRecord {
  readonly caseName: string;
  readonly seconds: number;
  readonly rounds: number;
  readonly circumstances: Circumstances;
  readonly runs: readonly Run[];
}

const REPOSITORY = new URL('..', import.meta.url);
const RESULTS = new URL('./results/', import.meta.url);

export function circumstances(): Circumstances {
  const processors = cpus();
  return {
    takenAtIso: new Date().toISOString(),
    commit: git('log', '-1', '--format=%h', '--', ...MEASURED),
    isDirty: git('status', '--porcelain', '--', '.', ':!bench/RESULTS.md', ':!bench/results') !== '',
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    system: `${process.platform} ${release()}`,
    node: process.version,
    isPinned: canPin,
    loadAverage: loadavg()[0]!,
  };
}

/** What a case runs: the last commit that changed it names what was measured, whatever was recorded or written since. */
const MEASURED = ['src', 'bench', 'package.json', 'package-lock.json', ':(exclude,glob)**/*.md', ':!bench/results'];

/** Without the locks that `git status` takes to refresh its index: somebody may be committing. */
function git(...args: readonly string[]): string {
  return execFileSync('git', ['--no-optional-locks', ...args], { cwd: REPOSITORY, encoding: 'utf8' }).trim();
}

export function keep(record: CaseRecord): void {
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(fileOf(record.caseName), `${JSON.stringify(record, null, 2)}\n`);
}

/** The last record of a case; null when it never ran. */
function recall({ name }: Case): CaseRecord | null {
  try {
    return JSON.parse(readFileSync(fileOf(name), 'utf8')) as CaseRecord;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** The cases that ever ran, with their records. */
export function entriesOf(cases: readonly Case[]): { theCase: Case; record: CaseRecord }[] {
  return cases.flatMap((theCase) => {
    const record = recall(theCase);
    return record === null ? [] : [{ theCase, record }];
  });
}

function fileOf(caseName: string): URL {
  return new URL(`${caseName}.json`, RESULTS);
}
