/** What ids of versions may be. Pure: it knows neither tables nor routes. */
import { AppError } from '../../base/errors.ts';

const VERSION_ID = /^vh_[\w-]{1,64}$/;

/** @throws AppError RESOURCE_NOT_FOUND: what is no id is the id of nothing (supplement 7, row 96). */
export function checkVersionId(id: string): string {
  if (!VERSION_ID.test(id)) throw noVersion(id);
  return id;
}

export function noVersion(id: string): AppError {
  return new AppError('RESOURCE_NOT_FOUND', { kind: 'version', id });
}
