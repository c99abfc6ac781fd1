import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineConfig } from '#runtime/engine/process/configuration.ts';

test('everything but FS_PATH has a default', () => {
  const config = engineConfig({ FS_PATH: '/srv/data' });
  assert.equal(config.folder, '/srv/data');
  assert.deepEqual(config.domains, ['localhost']);
  assert.equal(config.host, '127.0.0.1');
  assert.equal(config.port, 4001);
  assert.equal(config.listener, 'auto');
  assert.equal(config.protocol, 'http');
  assert.deepEqual(config.egress, { loopback: false, private: false });
  assert.equal(config.limits.cpu.http.free, 1000);
});

test('workers see https in production unless PUBLIC_PROTOCOL says otherwise', () => {
  assert.equal(engineConfig({ FS_PATH: '/srv', NODE_ENV: 'production' }).protocol, 'https');
  assert.equal(engineConfig({ FS_PATH: '/srv', NODE_ENV: 'production', PUBLIC_PROTOCOL: 'http' }).protocol, 'http');
});

test('addresses that are given to others have port 443 with https, and without it that of the request, unless PUBLIC_PORT says another', () => {
  const port = (environment: Record<string, string>): number | null =>
    engineConfig({ FS_PATH: '/srv', ...environment }).publicPort;
  assert.equal(port({}), null);
  assert.equal(port({ PUBLIC_PROTOCOL: 'https' }), 443);
  assert.equal(port({ PUBLIC_PROTOCOL: 'https', PUBLIC_PORT: '8443' }), 8443);
  assert.equal(port({ PUBLIC_PORT: '80' }), 80);
});

test('each bad variable is named with its value and what it takes', () => {
  for (const [environment, message] of [
    [{}, 'FS_PATH is not set: set it to the folder of artifacts and routes'],
    [{ FS_PATH: '/srv', HANDLER_PORT: 'http' }, 'HANDLER_PORT must be a port from 0 to 65535, but is "http"'],
    [
      { FS_PATH: '/srv', WORKER_ISOLATES_MAX: '3073' },
      'WORKER_ISOLATES_MAX is 3073, but V8 has room for 3072 isolates in a process: set it lower, and HANDLER_PROCESSES higher',
    ],
    [{ FS_PATH: '/srv', HANDLER_PORT: '70000' }, 'HANDLER_PORT must be a port from 0 to 65535, but is "70000"'],
    [{ FS_PATH: '/srv', PUBLIC_PORT: '0' }, 'PUBLIC_PORT must be a port from 1 to 65535, but is "0"'],
    [{ FS_PATH: '/srv', PUBLIC_PROTOCOL: 'ftp' }, 'PUBLIC_PROTOCOL must be one of http, https, but is "ftp"'],
    [{ FS_PATH: '/srv', HANDLER_LISTENER: 'fast' }, 'HANDLER_LISTENER must be one of auto, node, uws, but is "fast"'],
    [{ FS_PATH: '/srv', HANDLER_DOMAIN: 'a b' }, 'HANDLER_DOMAIN must be host names, comma-separated, but has "a b"'],
    [
      { FS_PATH: '/srv', WORKER_DNS_SERVERS: '192.0.2.1:5353,[2001:db8::1]:53,2001:db8::2,dns.example' },
      'WORKER_DNS_SERVERS must be IP addresses, comma-separated, each with a port if it is not 53 (192.0.2.1:5353, [2001:db8::1]:5353), but has "dns.example"',
    ],
    [
      { FS_PATH: '/srv', WORKER_EGRESS_ALLOW: 'all' },
      'WORKER_EGRESS_ALLOW must be one of loopback, private, but is "all"',
    ],
    [
      { FS_PATH: '/srv', TRUSTED_PROXIES: '10.0.0.0/8, caddy' },
      'TRUSTED_PROXIES must be addresses and CIDR ranges, comma-separated: "caddy" is neither an address nor a CIDR range',
    ],
    [
      { FS_PATH: '/srv', WORKER_CPU_LIMIT_MS_FREE: '1s' },
      'WORKER_CPU_LIMIT_MS_FREE must be a whole number of at least 0, but is "1s"',
    ],
    [{ FS_PATH: '/srv', WORKER_MEMORY_MB: '0' }, 'WORKER_MEMORY_MB must be a whole number of at least 1, but is "0"'],
  ] as const) {
    assert.throws(() => engineConfig(environment), { message });
  }
});

test('CPU limits come from the variables of their kind and plan, and 0 turns one off', () => {
  const { limits } = engineConfig({
    FS_PATH: '/srv',
    WORKER_CPU_LIMIT_MS_FREE: '50',
    WORKER_CPU_LIMIT_MS_QUEUE_PRO: '0',
  });
  assert.equal(limits.cpu.http.free, 50);
  assert.equal(limits.cpu.queue.pro, 0);
  assert.equal(limits.cpu.queue.free, 5000);
});

test('trusted proxies are a list, empty without the variable', () => {
  assert.deepEqual(engineConfig({ FS_PATH: '/srv' }).trustedProxies, []);
  assert.deepEqual(engineConfig({ FS_PATH: '/srv', TRUSTED_PROXIES: '10.0.0.0/8, ::1,' }).trustedProxies, [
    '10.0.0.0/8',
    '::1',
  ]);
});
