/** Loaded into every Node process of a bench before its own code: it collects its garbage on SIGUSR2, so that what is left is what it needs. */
process.on('SIGUSR2', () => globalThis.gc());
