/** The filter language of threads and of searches in comments (supplement 4.3; protocol 7.1 and 7.2). Pure: it knows fields, not tables. */
import { valueAtKey } from '../../../base/errors.ts';
import { type Clause, type FieldRule, parseQuery, type QueryFields } from '../../../base/query/parser.ts';

const FLAG: FieldRule = { form: 'plain', operators: { ':': ['boolean'] } };
const METADATA: FieldRule = {
  form: 'keyed',
  operators: {
    ':': ['string', 'number', 'boolean', 'null'],
    '^': ['string'],
    '>': ['number'],
    '<': ['number'],
    '>=': ['number'],
    '<=': ['number'],
  },
};

/** Of back ends: `subscribed` needs somebody who asks. */
const THREAD_FIELDS = {
  metadata: METADATA,
  resolved: FLAG,
  visibility: { form: 'plain', operators: { ':': ['string'] } },
} as const satisfies QueryFields;
const CLIENT_FIELDS = { ...THREAD_FIELDS, subscribed: FLAG } as const satisfies QueryFields;
const SEARCH_FIELDS = {
  threadMetadata: METADATA,
  threadResolved: FLAG,
  hasAttachments: FLAG,
  hasMentions: FLAG,
} as const satisfies QueryFields;

type AnyField = keyof typeof CLIENT_FIELDS | keyof typeof SEARCH_FIELDS;
export type FilterClause = Pick<Clause, 'key' | 'operator' | 'value'> & { readonly field: AnyField };

const FIELDS = { 'back end': THREAD_FIELDS, client: CLIENT_FIELDS, search: SEARCH_FIELDS } as const;

/** The clauses of a query, all of which must hold. @throws AppError UNPROCESSABLE_ENTITY naming `query` and what is wrong there. */
export function filterOf(query: string | undefined, of: keyof typeof FIELDS): FilterClause[] {
  const clauses = parseQuery(query ?? '', FIELDS[of] as QueryFields) as (Clause & FilterClause)[];
  for (const { field, value, column } of clauses) {
    if (field === 'visibility' && value !== 'public' && value !== 'private')
      throw valueAtKey('query', `fails at column ${column}: expected the visibility "public" or "private"`);
  }
  return clauses.map(({ field, key, operator, value }) => ({ field, key, operator, value }));
}
