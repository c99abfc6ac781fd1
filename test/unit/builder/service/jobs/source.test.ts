// Which repositories a sandbox may build: those whose credentials read that repository and nothing else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refuseUnscoped } from '#builder/service/jobs/source.ts';

const repository = {
  id: 'rep_1',
  organizationId: 'org_1',
  source: 'git-host',
  hostId: '7',
  installationId: '42',
  gitHostId: null,
  fullName: 'acme/shop',
  url: 'https://git.example/acme/shop',
  credentials: null,
  disconnectReason: null,
} as const;

test('a sandbox gets the token of an installation, and never an access token', () => {
  refuseUnscoped(repository);
  refuseUnscoped({ ...repository, source: 'builtin' });
  assert.throws(
    () => refuseUnscoped({ ...repository, installationId: 'gac_1', gitHostId: 'gho_1' }),
    /acme\/shop is not built in a sandbox: it is connected by an access token, which also reaches other repositories/,
  );
  assert.throws(() => refuseUnscoped({ ...repository, installationId: null }), /is not installed for it/);
  assert.throws(() => refuseUnscoped({ ...repository, source: 'remote' }), /is connected by its address/);
});
