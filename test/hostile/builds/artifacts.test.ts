import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { buildIn, openBuildPlace, possibleWays, ALL, WORKER } from '#test/setup/confined-builds.ts';

const [way] = await possibleWays();
const confinement = way?.confinement ?? { kind: 'none', reason: null };

/** A site whose command is a script. */
function siteWith(script: string) {
  return { 'platform.yaml': 'kind: static\nbuild: sh hostile.sh\nout: dist\n', 'hostile.sh': `mkdir dist\n${script}` };
}

describe('a build', () => {
  test('makes one file more than is allowed', async (t) => {
    const place = openBuildPlace(t);
    const { limits, files } = ALL ? { limits: {}, files: 100_001 } : { limits: { artifactFilesMax: 500 }, files: 501 };
    place.commit(siteWith(`cd dist; seq ${files} | xargs touch`));
    const { failure } = await buildIn(place, confinement, { limits });
    assert.equal(failure?.reason, 'artifact_too_many_files', failure?.message);
    assert.match(failure.message, /BUILD_ARTIFACT_MAX_FILES/);
    assert.deepEqual(readdirSync(place.artifacts), []);
  });

  test('makes an artifact above the bound of bytes, which takes no room on the disk', async (t) => {
    const place = openBuildPlace(t);
    place.commit(siteWith('echo x > dist/index.html; truncate -s 3G dist/film.bin'));
    const { failure } = await buildIn(place, confinement);
    assert.equal(failure?.reason, 'artifact_too_large', failure?.message);
    assert.match(failure.message, /BUILD_ARTIFACT_MAX_BYTES/);
  });

  test('makes a site of links to the platform', async (t) => {
    const place = openBuildPlace(t);
    place.commit(siteWith(`ln -s ${place.privateFolder} dist/data; ln -s /etc/passwd dist/index.html`));
    const { failure } = await buildIn(place, confinement);
    assert.equal(failure?.reason, 'build_failed');
    assert.match(
      failure.message,
      /^Asset (?:data|index.html) is a link to a (?:missing path|path outside the assets folder)$/,
    );
  });

  test('has an output folder that is a link', async (t) => {
    const place = openBuildPlace(t);
    place.commit({ 'platform.yaml': 'kind: static\nbuild: ln -s /etc dist\nout: dist\n' });
    const { failure } = await buildIn(place, confinement);
    assert.equal(failure?.reason, 'build_failed');
    assert.match(failure.message, /outside the project/);
  });

  test('names an artifact of its own over the descriptor of its parent', async (t) => {
    const place = openBuildPlace(t);
    const forged = 'f'.repeat(64);
    const script = `
      mkdir -p ../artifact/${forged}
      echo '{"version":1}' > ../artifact/${forged}/manifest.json
      for parent in /proc/[0-9]*/fd/3; do echo '{"what":"artifact","id":"${forged}"}' > $parent; done 2>/dev/null
      echo x > dist/index.html`;
    place.commit(siteWith(script));
    const { failure, result } = await buildIn(place, confinement);
    // It may reach its own parent: then what it names is checked, and refused.
    assert.ok(failure?.reason === 'artifact_invalid' || result !== null, failure?.message);
    assert.equal(existsSync(join(place.artifacts, forged)), false);
  });

  test('says on the descriptor of its parent what is no report', async (t) => {
    const place = openBuildPlace(t);
    const script = `
      for parent in /proc/[0-9]*/fd/3; do head -c 3000000 /dev/urandom > $parent; done 2>/dev/null
      echo x > dist/index.html`;
    place.commit(siteWith(script));
    const { failure, result } = await buildIn(place, confinement);
    assert.ok(result !== null || failure?.reason === 'build_failed', failure?.message);
  });

  test('makes a tree deeper than any path, which is removed', async (t) => {
    const place = openBuildPlace(t);
    const script = `
      i=0; while [ $i -lt 300 ]; do mkdir ${'d'.repeat(40)} && cd ${'d'.repeat(40)} || break; i=$((i+1)); done; cd /; exit 1`;
    place.commit(siteWith(script));
    const { failure } = await buildIn(place, confinement);
    assert.equal(failure?.reason, 'build_failed');
    assert.deepEqual(place.leftOver(), []);
  });

  test('closes its folders, which are removed', async (t) => {
    const place = openBuildPlace(t);
    place.commit(siteWith('mkdir closed; echo x > closed/x; chmod 000 closed; exit 1'));
    assert.equal((await buildIn(place, confinement)).failure?.reason, 'build_failed');
    assert.deepEqual(place.leftOver(), []);
  });

  test('leaves programs with the right to become their owner in its cache', async (t) => {
    const place = openBuildPlace(t);
    place.commit(WORKER);
    const installCommand =
      'mkdir -p $npm_config_cache; cp /bin/sh $npm_config_cache/sh; chmod 6755 $npm_config_cache/sh; ' +
      'ln -s /etc $npm_config_cache/link; mkfifo $npm_config_cache/pipe; echo x > $npm_config_cache/plain';
    const settings = { buildCommand: null, outputDirectory: null, installCommand };
    const { result, log } = await buildIn(place, confinement, { settings });
    assert.equal(result?.kind, 'dynamic', log);
    const [entry] = readdirSync(place.cache);
    assert.deepEqual(readdirSync(join(place.cache, entry!, 'npm')), ['plain']);
  });
});
