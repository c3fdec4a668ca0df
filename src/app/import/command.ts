/** The process of `npm run import`: reads the command line, brings the rooms over, and says how it went. */
import { EXIT } from '../command-line.ts';
import { endWith } from '../end-with.ts';
import { readImportPlan, USAGE } from './plan.ts';
import { runImport } from './run.ts';

export async function importAsAsked(): Promise<void> {
  try {
    const plan = readImportPlan(process.argv.slice(2), process.env);
    if (plan === null) process.stdout.write(USAGE);
    else process.exit((await runImport(plan)) === 'all' ? EXIT.inOrder : EXIT.failed);
  } catch (error) {
    endWith(error instanceof Error ? error.message : String(error), EXIT.wrongUse);
  }
}
