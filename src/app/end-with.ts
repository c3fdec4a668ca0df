/** The end of this process when it did not go well: one sentence for the person who runs it. */
export function endWith(sentence: string): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}
