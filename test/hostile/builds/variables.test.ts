// Variables of a project that would have its code run by the programs which fence its builds.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildIn, openBuildPlace, possibleWays } from '#test/setup/confined-builds.ts';

for (const { name, confinement } of await possibleWays())
  describe(name, () => {
    test('what the loader acts on is set for the command, not for what fences it', async (t) => {
      const place = openBuildPlace(t);
      place.commit({
        'src/index.ts': 'export default { fetch: () => new Response("") };',
        'package.json': JSON.stringify({ dependencies: { words: 'file:words' } }),
        'words/package.json': '{"name":"words","version":"1.0.0"}',
      });
      const settings = {
        buildCommand: null,
        outputDirectory: null,
        installCommand: 'echo "loaded: $LD_DEBUG" && true',
      };
      const variables = { LD_DEBUG: 'files' };
      const { log, failure } = await buildIn(place, confinement, { settings, variables });
      assert.equal(failure, null, failure?.message);
      assert.match(log, /loaded: files/);
      assert.doesNotMatch(
        log,
        /file=\S*bwrap|needed by \S*(?:bwrap|setpriv|prlimit)|initialize program: \S*(?:bwrap|setpriv|prlimit)/,
      );
    });
  });
