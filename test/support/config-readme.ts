/** The page of settings, made from the table in `src/config.ts`. */
import { SETTINGS } from '../../src/config.ts';

interface Described {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly anyOf?: readonly { readonly const: unknown }[];
}

export function configReadme(): string {
  const rows = Object.entries(SETTINGS).map(([name, schema]) => {
    const setting: Described = schema;
    return `| \`${name}\` | ${defaultOf(setting)} | ${boundsOf(setting)} | ${setting.description} |`;
  });
  return `# Settings

Environment variables win over a preset file, which \`CONFIG_FILE\` names (such as [sdk.json](sdk.json)); what neither says has the default below.
A setting that is unknown in a preset, of the wrong shape, or out of its limits refuses to start. This page is generated from \`src/config.ts\`.

With \`S3_BUCKET\` the credentials are \`AWS_ACCESS_KEY_ID\` and \`AWS_SECRET_ACCESS_KEY\`, in the environment only (with \`AWS_SESSION_TOKEN\` where they are
temporary); without them those of the machine's role or of \`~/.aws\` are used.

| setting | default | limits | meaning |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}

function defaultOf({ default: value }: Described): string {
  return value === undefined ? '' : `\`${String(value)}\``;
}

function boundsOf({ minimum, maximum, pattern, anyOf }: Described): string {
  if (minimum !== undefined) return `${minimum} to ${maximum}`;
  if (anyOf !== undefined) return anyOf.map(({ const: value }) => `\`${String(value)}\``).join(', ');
  return pattern === undefined ? '' : `\`${pattern.replaceAll('|', '\\|')}\``;
}
