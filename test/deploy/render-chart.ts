/**
 * `npm run chart`: renders the chart with the value sets of `helm/ci` by `helm/check/render.go` (Go's own templates and sprig, from Debian's
 * packages), and has the compiler look for fields that Kubernetes does not know. The results are kept, so that tests need no Go.
 */
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { headed, manifestsIn, moduleOf, renderedFile, VALUE_SETS, valuesFile } from '../support/chart.ts';

const PACKAGES = 'golang-go golang-github-masterminds-sprig-dev golang-k8s-sigs-yaml-dev';
const ON_DEBIAN = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode' };
const TYPED = 'test/deploy/rendered/typed.tmp.ts';

for (const set of VALUE_SETS) {
  const rendered = render(valuesFile(set));
  writeFileSync(renderedFile(set), headed(rendered));
  checkFields(rendered);
  console.log(`${renderedFile(set)}: ${manifestsIn(rendered).length} manifests`);
}

function render(values: string): string {
  try {
    return execFileSync('go', ['run', 'helm/check/render.go', 'helm', values], {
      env: { ...process.env, ...ON_DEBIAN },
      encoding: 'utf8',
    });
  } catch (error) {
    console.error(`With Debian's packages ${PACKAGES} this renders the chart; it did not.`);
    throw error;
  }
}

/** Each manifest as a literal of its type: the compiler refuses a field that is not in it. */
function checkFields(rendered: string): void {
  const lines = manifestsIn(rendered).map((manifest, index) => {
    const type = `import('${moduleOf(manifest)}').I${manifest.kind}`;
    return `export const manifest${index}: ${type} = ${JSON.stringify(manifest, null, 1)};`;
  });
  writeFileSync(TYPED, lines.join('\n'));
  try {
    const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'esnext', '--moduleResolution', 'bundler'];
    execFileSync('npx', ['tsc', '--ignoreConfig', ...flags, TYPED], { stdio: 'inherit' });
  } finally {
    rmSync(TYPED, { force: true });
  }
}
