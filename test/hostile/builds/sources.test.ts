import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { buildIn, openBuildPlace, possibleWays, WORKER } from '#test/setup/confined-builds.ts';

const [way] = await possibleWays();
const confinement = way?.confinement ?? { kind: 'none', reason: null };

describe('a repository that cannot be built', () => {
  test('is empty', async (t) => {
    const place = openBuildPlace(t);
    const { failure } = await buildIn(place, confinement);
    assert.equal(failure?.reason, 'repository_empty');
    assert.equal(failure.message, 'The repository has no branch main, or no commit on it');
    assert.deepEqual(place.leftOver(), []);
  });

  test('has a commit without files', async (t) => {
    const place = openBuildPlace(t);
    place.commit({});
    const { failure } = await buildIn(place, confinement);
    assert.equal(failure?.reason, 'repository_empty');
  });

  test('is gone', async (t) => {
    const place = openBuildPlace(t);
    const { failure } = await buildIn(place, confinement, {
      source: { url: 'http://127.0.0.1:9/a/b.git', isPlainHttp: true },
    });
    assert.equal(failure?.reason, 'repository_unavailable');
    assert.doesNotMatch(failure.message, /127\.0\.0\.1:9\//);
  });

  test('lost the commit to a force push', async (t) => {
    const place = openBuildPlace(t);
    const lost = place.commit(WORKER);
    place.git('commit', '-q', '--amend', '-m', 'Another');
    place.git('push', '-q', '--force', place.bare, 'HEAD:main');
    execFileSync('git', ['-C', place.bare, 'reflog', 'expire', '--expire=now', '--all']);
    execFileSync('git', ['-C', place.bare, 'gc', '-q', '--prune=now']);
    const { failure } = await buildIn(place, confinement, { commit: lost });
    assert.equal(failure?.reason, 'commit_not_found');
    assert.match(failure.message, /force push/);
  });

  test('has submodules', async (t) => {
    const place = openBuildPlace(t);
    place.commit(WORKER);
    const hash = place.git('rev-parse', 'HEAD');
    place.git('update-index', '--add', '--cacheinfo', `160000,${hash},libs/shared`);
    place.git('commit', '-q', '-m', 'Submodule');
    place.git('push', '-q', '--force', place.bare, 'HEAD:main');
    const { failure } = await buildIn(place, confinement);
    assert.equal(failure?.reason, 'submodules_unsupported');
    assert.match(failure.message, /"libs\/shared"/);
  });

  test('has a file above the bound, small as it is in the pack', async (t) => {
    const place = openBuildPlace(t);
    place.commit({ ...WORKER, 'zeros.bin': Buffer.alloc(3_000_000) });
    const { failure } = await buildIn(place, confinement, { limits: { sourceBytesMax: 2_000_000 } });
    assert.equal(failure?.reason, 'source_too_large');
    assert.match(failure.message, /"zeros.bin" has 3000000/);
  });

  test('has a pack above the bound, which the kernel keeps', async (t) => {
    const place = openBuildPlace(t);
    const noise = Buffer.alloc(4_000_000);
    for (let at = 0, state = 1; at < noise.length; at++) noise[at] = (state = (state * 48271) % 2147483647) & 255;
    place.commit({ ...WORKER, 'noise.bin': noise });
    const { failure } = await buildIn(place, confinement, { limits: { sourceBytesMax: 1_000_000 } });
    assert.equal(failure?.reason, 'source_too_large');
  });

  test('has more files than are allowed, made of few objects', async (t) => {
    const place = openBuildPlace(t);
    // Each tree holds the one below ten times: a million files in seven objects.
    let tree = execFileSync('git', ['-C', place.bare, 'hash-object', '-w', '--stdin'], { input: 'x' })
      .toString()
      .trim();
    let kind = 'blob';
    for (let level = 0; level < 6; level++) {
      const mode = kind === 'blob' ? '100644' : '040000';
      const lines = Array.from({ length: 10 }, (_, n) => `${mode} ${kind} ${tree}\tn${n}\n`).join('');
      tree = execFileSync('git', ['-C', place.bare, 'mktree'], { input: lines }).toString().trim();
      kind = 'tree';
    }
    const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
    const commit = execFileSync('git', [...identity, '-C', place.bare, 'commit-tree', tree, '-m', 'x'])
      .toString()
      .trim();
    execFileSync('git', ['-C', place.bare, 'update-ref', 'refs/heads/main', commit]);
    const { failure } = await buildIn(place, confinement);
    assert.equal(failure?.reason, 'source_too_large');
    assert.match(failure.message, /more than 200000 files/);
  });

  for (const [what, name] of [
    ['the folder of Git', '.git'],
    ['the folder of Git in capitals', '.GIT'],
    ['a parent', '..'],
  ] as const)
    test(`has ${what} among its files`, async (t) => {
      const place = openBuildPlace(t);
      place.commit(WORKER);
      const hash = execFileSync('git', ['-C', place.bare, 'hash-object', '-w', '--stdin'], { input: 'x' })
        .toString()
        .trim();
      // Written as it is: Git itself makes no such tree.
      const inner = Buffer.concat([Buffer.from('100644 config\0'), Buffer.from(hash, 'hex')]);
      const write = (content: Buffer): string =>
        execFileSync('git', ['-C', place.bare, 'hash-object', '-w', '-t', 'tree', '--stdin', '--literally'], {
          input: content,
        })
          .toString()
          .trim();
      const outer = Buffer.concat([Buffer.from(`40000 ${name}\0`), Buffer.from(write(inner), 'hex')]);
      const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
      const commit = execFileSync('git', [...identity, '-C', place.bare, 'commit-tree', write(outer), '-m', 'x']);
      execFileSync('git', ['-C', place.bare, 'update-ref', 'refs/heads/main', commit.toString().trim()]);
      const { failure } = await buildIn(place, confinement);
      assert.equal(failure?.reason, 'source_unsafe', failure?.message);
    });

  for (const [what, target] of [
    ['an absolute path', '/etc/passwd'],
    ['a path above the checkout', '../../../etc/passwd'],
  ] as const)
    test(`has a link to ${what}`, async (t) => {
      const place = openBuildPlace(t);
      place.commit(WORKER);
      mkdirSync(join(place.folder, 'tree/public'));
      symlinkSync(target, join(place.folder, 'tree/public/link'));
      place.git('add', '-A');
      place.git('commit', '-q', '-m', 'Link');
      place.git('push', '-q', '--force', place.bare, 'HEAD:main');
      const { failure } = await buildIn(place, confinement);
      assert.equal(failure?.reason, 'source_unsafe');
      assert.match(failure.message, /"public\/link" in the repository is a link to a path outside it/);
    });

  for (const [what, wishes] of [
    ['a branch that Git would take for an option', { branch: '--upload-pack=touch x' }],
    ['a branch that is a pattern', { branch: 'a*' }],
    ['a commit that is no hash', { commit: '-x' }],
    ['a program for a URL', { source: { url: 'ext::sh -c "touch x"' } }],
    ['a file for a URL', { source: { url: 'file:///etc' } }],
    ['an option for a host', { source: { url: 'ssh://-oProxyCommand=touch/x' } }],
    ['an option for a host behind a user', { source: { url: 'ssh://git@-oProxyCommand=touch/x' } }],
    ['credentials in the URL', { source: { url: 'https://me:secret@git.example/a/b' } }],
  ] as const)
    test(`has ${what}`, async (t) => {
      const place = openBuildPlace(t);
      place.commit(WORKER);
      const { failure } = await buildIn(place, confinement, wishes);
      assert.equal(failure?.reason, 'clone_failed');
      assert.doesNotMatch(failure.message, /secret/);
    });
});

test('hooks, filters and programs that a repository configures do not run', async (t) => {
  const place = openBuildPlace(t);
  const marker = join(place.folder, 'ran');
  place.commit({ ...WORKER, '.gitattributes': '* filter=evil\n' });
  for (const hook of ['post-checkout', 'pre-receive', 'post-index-change'])
    writeFileSync(join(place.bare, 'hooks', hook), `#!/bin/sh\ntouch ${marker}\n`, { mode: 0o755 });
  const { result } = await buildIn(place, confinement);
  assert.equal(result?.kind, 'dynamic');
  assert.equal(existsSync(marker), false);
});

test('pointers of Git LFS are told', async (t) => {
  const place = openBuildPlace(t);
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 12345\n`;
  place.commit({ ...WORKER, 'public/film.mp4': pointer });
  const { result, log } = await buildIn(place, confinement);
  assert.equal(result?.kind, 'dynamic');
  assert.match(log, /\[clone warn\] 1 file is a pointer of Git LFS, whose content is not fetched: "public\/film.mp4"/);
});

test('a tree of sources is built as a repository is, and its links are refused', async (t) => {
  const place = openBuildPlace(t);
  place.commit(WORKER);
  const tree = join(place.folder, 'given');
  cpSync(join(place.folder, 'tree'), tree, { recursive: true, filter: (path) => !path.includes('.git') });
  const { result } = await buildIn(place, confinement, { source: { folder: tree } });
  assert.equal(result?.commit, null);
  assert.ok(readFileSync(join(place.artifacts, result.artifactId, 'worker.js'), 'utf8').includes('hello'));
  rmSync(join(tree, 'src/index.ts'));
  symlinkSync('/etc/passwd', join(tree, 'src/index.ts'));
  const { failure } = await buildIn(place, confinement, { source: { folder: tree } });
  assert.equal(failure?.reason, 'source_unsafe');
});
