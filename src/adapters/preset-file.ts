/** A file of settings, as `--config` or CONFIG_FILE names it. It knows no settings. */
import { readFileSync } from 'node:fs';

/** None without a path. @throws an Error with one sentence that names the file. */
export function readPreset(path: string | undefined): Readonly<Record<string, unknown>> {
  if (path === undefined) return {};
  const content = contentOf(path);
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    throw new Error(`The file ${path} of --config (CONFIG_FILE) must hold one JSON object: settings by their names.`);
  return content as Record<string, unknown>;
}

function contentOf(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const what = error instanceof SyntaxError ? 'is not JSON' : 'cannot be read';
    throw new Error(`The file ${path} of --config (CONFIG_FILE) ${what} (${(error as Error).message}).`, { cause: error });
  }
}
