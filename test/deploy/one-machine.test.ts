/** What `docs/deploy-one-machine.md` gives to paste for systemd and proxies. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const page = readFileSync('docs/deploy-one-machine.md', 'utf8');
const block = (language: string): string => new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page)![1]!;

test('[DC5] the unit tells the server alone to stop, and waits longer than a drain and the end of Postgres may take', () => {
  const unit = block('ini');
  expect(unit).toMatch(/^KillMode=mixed$/m);
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1])).toBeGreaterThan(36); // 25 s, one to give up, ten for Postgres
});

test('[DC6] the proxies take their examples: what nginx uses it is told before, and Caddy has one line for each brace', () => {
  const nginx = block('nginx').replace(/#.*$/gm, '');
  expect(nginx).toMatch(/^map \$http_upgrade \$connection_upgrade \{.*\}$/m);
  expect(nginx).toMatch(/listen 443 ssl;[\s\S]*ssl_certificate [\s\S]*ssl_certificate_key /);
  expect(nginx.split('{').length).toBe(nginx.split('}').length);
  expect(block('caddy')).toMatch(/^\S+ \{\n +reverse_proxy [\d.:]+\n\}\n$/);
});

test('[DC8] what the page starts needs nothing that npm prune takes away', () => {
  const blocks = [...page.matchAll(/```\w*\n([\s\S]*?)```/g)].map(([, text]) => text!);
  expect(blocks.filter((text) => /\bnpm (start|run)\b/.test(text))).toEqual([]);
  expect(blocks.filter((text) => text.includes('node dist/main.js')).length).toBe(2);
});
