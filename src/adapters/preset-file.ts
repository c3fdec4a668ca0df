/** A file of settings, as `--config` or CONFIG_FILE names it. It knows no settings. */
import { readFileSync } from 'node:fs';

/** None without a path, or with an empty one, as of any other setting. @throws an Error with one sentence that names the file. */
export function readPreset(path: string | undefined): Readonly<Record<string, unknown>> {
  if (path === undefined || path === '') return {};
  const content = contentOf(path);
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    throw new Error(`The file ${path} of --config (CONFIG_FILE) must hold one JSON object: settings by their names.`);
  return content as Record<string, unknown>;
}

function contentOf(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const { message } = error as Error;
    const what = error instanceof SyntaxError ? `is not JSON${placeIn(message)}` : `cannot be read (${message})`;
    throw new Error(`The file ${path} of --config (CONFIG_FILE) ${what}.`, { cause: error });
  }
}

/** Where the slip is, if that is said. The rest may show what stands around it, and that may be of a secret. */
function placeIn(message: string): string {
  const [place] = /line \d+ column \d+|position \d+/.exec(message) ?? [];
  return place === undefined ? '' : ` (${place})`;
}
