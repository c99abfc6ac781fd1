// Name and address of a machine: what they are by default, and what is refused with what to do.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyIdsOf, machineSettings } from '#runtime/supervisor/machine/settings.ts';

const local = { HOST: '127.0.0.1', HANDLER_HOST: '127.0.0.1' };
const open = { HOST: '0.0.0.0', HANDLER_HOST: '::' };

test('a machine is called as its host, and is not reached by others unless it listens for them', () => {
  assert.deepEqual(machineSettings({}, local, 'Web_1.example.net'), {
    name: 'web-1',
    isNameChosen: false,
    address: null,
  });
  assert.equal(machineSettings({}, open, '...').name, 'machine');
  assert.equal(machineSettings({}, open).address, null);
  assert.equal(machineSettings({}, { HOST: '10.0.0.7', HANDLER_HOST: '0.0.0.0' }).address, '10.0.0.7');
  assert.equal(machineSettings({}, { HOST: '10.0.0.7', HANDLER_HOST: '127.0.0.1' }).address, null);
});

test('an address is an IP address or a name', () => {
  const addressOf = (MACHINE_ADDRESS: string) => machineSettings({ MACHINE_ADDRESS }, open).address;
  assert.equal(addressOf('M1.internal'), 'm1.internal');
  assert.equal(addressOf('fd00::1'), '[fd00::1]');
  assert.equal(addressOf('[fd00::1]'), '[fd00::1]');
  // Several machines on one, as in tests.
  assert.equal(machineSettings({ MACHINE_ADDRESS: '127.0.0.1' }, local).address, '127.0.0.1');
});

test('what cannot be is refused by its name', () => {
  const cases: readonly (readonly [Record<string, string>, Record<string, string>, RegExp])[] = [
    [
      { MACHINE_NAME: 'M 1' },
      open,
      /^MACHINE_NAME is "M 1": it must have at most 63 lower-case letters, digits and hyphens/,
    ],
    [{ MACHINE_NAME: 'm'.repeat(64) }, open, /^MACHINE_NAME is /],
    [{ MACHINE_ADDRESS: 'http://m1' }, open, /^MACHINE_ADDRESS is "http:\/\/m1": it must be the IP address or name/],
    [{ MACHINE_ADDRESS: 'm1:8081' }, open, /without a port$/],
    [
      { MACHINE_ADDRESS: '10.0.0.7' },
      local,
      /^MACHINE_ADDRESS is 10\.0\.0\.7, but HOST is 127\.0\.0\.1, .* set HOST to 10\.0\.0\.7 or 0\.0\.0\.0$/,
    ],
  ];
  for (const [environment, listens, message] of cases)
    assert.throws(() => machineSettings(environment, listens), { message });
});

test('keys are compared by their ids, which are not the keys', () => {
  const key = '0123456789abcdef0123456789abcdef';
  assert.deepEqual(keyIdsOf(`${key}, abcdef0123456789abcdef0123456789`).length, 2);
  assert.match(keyIdsOf(key)[0]!, /^[0-9a-f]{8}$/);
  assert.deepEqual([keyIdsOf(''), keyIdsOf('weak')], [[], []]);
});
