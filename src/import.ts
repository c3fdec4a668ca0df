/** `npm run import`: reads the command line, brings the rooms over, and says how it went. Nothing else. */
import { EXIT } from './app/command-line.ts';
import { endWith } from './app/end-with.ts';
import { readImportPlan, USAGE } from './app/import/plan.ts';
import { runImport } from './app/import/run.ts';

try {
  const plan = readImportPlan(process.argv.slice(2), process.env);
  if (plan === null) process.stdout.write(USAGE);
  else process.exit((await runImport(plan)) === 'all' ? EXIT.inOrder : EXIT.failed);
} catch (error) {
  endWith(error instanceof Error ? error.message : String(error), EXIT.wrongUse);
}
