/** The process of `npm run import`: reads the command line, brings the rooms over, and says how it went. */
import { EXIT } from '../command-line.ts';
import { endWith } from '../end-with.ts';
import { type ImportPlan, readImportPlan, USAGE } from './plan.ts';
import { runImport } from './run.ts';

export async function importAsAsked(): Promise<void> {
  const plan = planOrExit();
  if (plan === null) return void process.stdout.write(USAGE);
  try {
    process.exit((await runImport(plan)) === 'all' ? EXIT.inOrder : EXIT.failed);
  } catch (error) {
    endWith(sentenceOf(error), EXIT.failed);
  }
}

function planOrExit(): ImportPlan | null {
  try {
    return readImportPlan(process.argv.slice(2), process.env);
  } catch (error) {
    return endWith(sentenceOf(error), EXIT.wrongUse);
  }
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
