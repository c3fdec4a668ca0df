/** The end of this process when it did not go well: one sentence for the person who runs it. */
export function endWith(sentence: string, code = 1): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(code);
}
