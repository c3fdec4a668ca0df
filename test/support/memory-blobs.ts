/** Blobs that a test can look into and damage. */
import type { Blobs } from '../../src/kernel/persistence/blobs.ts';

export interface MemoryBlobs extends Blobs {
  readonly stored: Map<string, Uint8Array>;
}

export function memoryBlobs(): MemoryBlobs {
  const stored = new Map<string, Uint8Array>();
  return {
    stored,
    async put(key, body) {
      const parts: Uint8Array[] = [];
      for await (const part of body instanceof Uint8Array ? [body] : body) parts.push(part);
      const bytes = Buffer.concat(parts);
      stored.set(key, bytes);
      return { size: bytes.length };
    },
    get: async (key) => stored.get(key) ?? null,
    delete: async (key) => void stored.delete(key),
    presign: async (key) => `memory:${key}`,
  };
}
