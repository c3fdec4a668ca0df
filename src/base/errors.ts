/**
 * Refusals: code that refuses throws `AppError` with a code of `error-table.ts` and facts. Anything else that is thrown is our bug: it
 * becomes INTERNAL_SERVER_ERROR with an id that is also in the log.
 */
import { ERRORS, type Facts } from './error-table.ts';

export type ErrorCode = keyof typeof ERRORS;

/** A refusal: a code of the table and the facts its sentence needs. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly facts: Facts;

  constructor(code: ErrorCode, facts: Facts = {}) {
    super(shortened(ERRORS[code].message(facts)));
    this.name = 'AppError';
    this.code = code;
    this.facts = facts;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get close(): number {
    return ERRORS[this.code].close;
  }

  get retry(): boolean {
    return ERRORS[this.code].retry;
  }
}

/** Of a longer message, which quotes what a client sent, the middle is left out: what was refused stands at its beginning, why at its end. */
const MESSAGE_LENGTH_MAX = 1_000;

function shortened(message: string): string {
  if (message.length <= MESSAGE_LENGTH_MAX) return message;
  const kept = (MESSAGE_LENGTH_MAX - 1) / 2;
  return `${message.slice(0, Math.ceil(kept))}…${message.slice(-Math.floor(kept))}`;
}

/** The body of every error answer (contract, "Error body"); `docs` is always present and may be empty. */
export interface ErrorBody {
  readonly error: ErrorCode;
  readonly message: string;
  readonly suggestion: string;
  readonly docs: string;
}

export function errorBody(error: AppError): ErrorBody {
  return { error: error.code, message: error.message, suggestion: ERRORS[error.code].suggestion, docs: '' };
}

/** 422 for a required key that is absent (supplement 1.8, "missing key" form). */
export function missingKey(key: string): AppError {
  return new AppError('UNPROCESSABLE_ENTITY', { missing: key });
}

/** 422 for a value that may not stand where it stands (supplement 1.8, "value at key" form). */
export function valueAtKey(key: string, reason: string): AppError {
  return new AppError('UNPROCESSABLE_ENTITY', { key, reason });
}
