// Where the handler of this machine keeps its state and answers.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { dataFolder, handlerAddress, packageFolder, projectUrl } from '#cli/local/locations.ts';
import { recordingShell } from '../recording-shell.ts';

test('in a checkout the data folder is .platform beside the sources, unless FS_PATH or PLATFORM_HOME names another', () => {
  assert.equal(dataFolder(recordingShell('/srv/app')), path.join(packageFolder, '.platform'));
  assert.equal(dataFolder(recordingShell('/srv/app', { FS_PATH: 'state' })), '/srv/app/state');
  assert.equal(dataFolder(recordingShell('/srv/app', { FS_PATH: '/srv/data' })), '/srv/data');
  assert.equal(dataFolder(recordingShell('/srv/app', { PLATFORM_HOME: '/srv/platform' })), '/srv/platform/data');
  assert.equal(dataFolder(recordingShell('/', { FS_PATH: '/srv/data', PLATFORM_HOME: '/srv/platform' })), '/srv/data');
});

test('the address is localhost:4001 unless the environment says otherwise', () => {
  assert.deepEqual(handlerAddress(recordingShell('/')), { domain: 'localhost', port: 4001 });
  const env = { HANDLER_DOMAIN: 'Apps.example.com, other.example.com', HANDLER_PORT: '80' };
  assert.deepEqual(handlerAddress(recordingShell('/', env)), { domain: 'apps.example.com', port: 80 });
  assert.throws(() => handlerAddress(recordingShell('/', { HANDLER_PORT: 'x' })), {
    message: 'HANDLER_PORT must be a port from 0 to 65535, but is "x"',
  });
});

test('a URL names the project, then the branch or deployment, and no port 80', () => {
  assert.equal(projectUrl({ domain: 'localhost', port: 4001 }, 'shop', null), 'http://shop.localhost:4001');
  assert.equal(projectUrl({ domain: 'example.com', port: 80 }, 'shop', 'login'), 'http://shop--login.example.com');
});
