import assert from 'node:assert/strict';
import { test } from 'node:test';
import { privatePortSettings } from '#runtime/supervisor/private-port/settings.ts';

const token = '0123456789abcdef';
const settingsOf = (environment: Readonly<Record<string, string>>): ReturnType<typeof privatePortSettings> =>
  privatePortSettings(environment, () => 'made');

test('the private port is 8081 on this machine alone, unless told otherwise', () => {
  assert.deepEqual(settingsOf({}), { port: 8081, host: '127.0.0.1', token: 'made' });
  assert.deepEqual(settingsOf({ HANDLER_PRIVATE_PORT: '0', HOST: '10.1.2.3', PRIVATE_PORT_TOKEN: token }), {
    port: 0,
    host: '10.1.2.3',
    token,
  });
  assert.equal(settingsOf({ HANDLER_PRIVATE_PORT: 'off', HOST: '0.0.0.0' }), null);
});

test('an address that others may reach wants a token', () => {
  for (const HOST of ['0.0.0.0', '::', '8.8.8.8', '2606:4700::1111', 'platform.example.com', '::ffff:8.8.8.8', '*']) {
    assert.throws(() => settingsOf({ HOST }), /^Error: HOST is .*PRIVATE_PORT_TOKEN is not set: set a token/, HOST);
    assert.equal(settingsOf({ HOST, PRIVATE_PORT_TOKEN: token })?.host, HOST);
  }
  for (const HOST of [
    '127.0.0.1',
    '127.8.8.8',
    'localhost',
    '::1',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    'fd00::1',
    'fe80::1',
  ]) {
    assert.equal(settingsOf({ HOST })?.token, 'made', HOST);
  }
});

test('what cannot be used is named, and a token never', () => {
  for (const port of ['65536', '-1', '80.5', '8081x', 'on']) {
    assert.throws(() => settingsOf({ HANDLER_PRIVATE_PORT: port }), {
      message: `HANDLER_PRIVATE_PORT must be "off" or a port from 0 to 65535, but is "${port}"`,
    });
  }
  for (const short of ['short-secret', 'with space 0123456789', 'ümlaut-0123456789abcdef']) {
    assert.throws(
      () => settingsOf({ PRIVATE_PORT_TOKEN: short }),
      (error: Error) =>
        error.message === 'PRIVATE_PORT_TOKEN must have at least 16 visible ASCII characters' &&
        !error.message.includes(short),
    );
  }
});
