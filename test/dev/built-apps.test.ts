// Apps that have something to build, in the shapes that people bring: each is deployed to a platform by
// `platform deploy`, from a folder that holds its sources alone.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { run } from '#cli/main.ts';
import { builtApps, copySources, type Fetch } from '#test/setup/built-apps.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { until } from '#test/setup/until.ts';
import { recordingShell } from '../unit/cli/recording-shell.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'built-apps-'));
let platform: TestPlatform;

before(async () => {
  platform = await startPlatform({}, { DATABASE_URL: '', PUBLIC_PROTOCOL: 'http' });
});
after(async () => {
  await platform.close();
  rmSync(folder, { recursive: true });
});

for (const [name, { asks }] of Object.entries(builtApps))
  test(`${name} is deployed`, async () => {
    const shell = recordingShell(copySources(name, folder), { FS_PATH: platform.folder, PLATFORM_HOME: folder });
    assert.equal(await run(['deploy', '--json'], shell), 0, [...shell.output, ...shell.errors].join('\n'));
    const fetch: Fetch = (target, options) => platform.fetch(name, target, options);
    await until(async () => !/host_not_found|No deployment/.test((await fetch('/')).text));
    await asks(fetch);
  });
