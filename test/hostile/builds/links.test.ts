// A build that replaces its own folders by links. They are mounted for its next command, and read by the builder.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { buildIn, openBuildPlace, possibleWays, workerWith } from '#test/setup/confined-builds.ts';

const FOLDERS = { tmp: 'private', cache: 'private', artifact: 'private', passwd: 'private/key', outbound: 'private' };

for (const { name, confinement } of await possibleWays())
  describe(`a build, confined by ${name}`, () => {
    for (const [folder, target] of Object.entries(FOLDERS))
      test(`that replaces ${folder} by a link sees nothing behind it`, async (t) => {
        const place = openBuildPlace(t);
        writeFileSync(join(place.privateFolder, 'key'), 'of the platform');
        place.commit({
          ...workerWith('cat /tmp/key /etc/passwd /run/outbound/key ../*/key 2>/dev/null; echo built'),
          'package.json': '{"dependencies":{"words":"1.0.0"}}',
        });
        const at = join(place.folder, target);
        const installCommand = `cd .. && mv ${folder} ${folder}-before; ln -s ${at} ${folder}; ls -ld ${folder}; true`;
        const settings = { buildCommand: null, outputDirectory: null, installCommand };
        const { log, failure } = await buildIn(place, confinement, { settings });
        assert.doesNotMatch(log, /of the platform/);
        if (/-> /.test(log)) assert.equal(failure?.message, `The build replaced its folder ${folder} by a link`, log);
        const words = ['-c', 'cat $(find "$@" -type f)', 'sh', place.cache, place.artifacts];
        const kept = execFileSync('sh', words, { input: '', encoding: 'utf8' });
        assert.doesNotMatch(kept, /of the platform/);
      });
  });
