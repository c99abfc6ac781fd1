// Builds with a network of their own reach the registries of the machine, wherever they are.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { buildIn, openBuildPlace, possibleWays, WORKER, type BuildPlace } from '#test/setup/confined-builds.ts';
import { openRegistry } from '#test/setup/npm-registry.ts';
import { testOutbound } from '#test/setup/outbound.ts';

const [way] = await possibleWays();
const confinement = way?.confinement ?? { kind: 'none', reason: null };
const options = { skip: confinement.fence === undefined && 'nothing makes namespaces here' };

/** A worker with a package of the registry, whose build asks for one by itself too. */
function placeWith(t: TestContext, registry: string): BuildPlace {
  const place = openBuildPlace(t);
  place.commit({
    ...WORKER,
    'platform.yaml': 'kind: worker\nname: shop\nbuild: sh build.sh\n',
    'build.sh': `set -e
      node -e 'fetch("${registry}/of-the-build").then((r) => console.log("answered", r.status))'
      env | grep -i proxy`,
    'package.json': JSON.stringify({ private: true, dependencies: { words: '1.0.0' } }),
    'src/index.ts': "import words from 'words';\nexport default { fetch: () => new Response(words) };\n",
  });
  return place;
}

/** Sets a variable of this process, which stands for the builder's. */
function setVariable(t: TestContext, name: string, value: string): void {
  process.env[name] = value;
  t.after(() => delete process.env[name]);
}

test('a registry on the loopback of the machine is found on that of the build', options, async (t) => {
  const { port, asked } = await openRegistry(t);
  const registry = `http://127.0.0.1:${port}`;
  setVariable(t, 'npm_config_registry', registry);
  const outbound = testOutbound({ npm_config_registry: registry });
  const { result, log, failure } = await buildIn(placeWith(t, registry), confinement, { outbound });
  assert.equal(result?.kind, 'dynamic', `${failure?.message}\n${log}`);
  assert.match(log, /^answered 200$/m);
  assert.deepEqual([...new Set(asked)].toSorted(), [
    `127.0.0.1:${port}/of-the-build`,
    `127.0.0.1:${port}/words`,
    `127.0.0.1:${port}/words/-/words-1.0.0.tgz`,
  ]);
});

test(
  'a registry behind the proxy of the machine is reached through it, and the build sees no password',
  options,
  async (t) => {
    const { port, asked } = await openRegistry(t);
    const authorized = `Basic ${Buffer.from('builder:of-the-proxy').toString('base64')}`;
    const led: string[] = [];
    const proxy = createServer((_request, response) => response.writeHead(405).end());
    proxy.on('connect', (request, client) => {
      client.on('error', () => {});
      led.push(request.url!);
      if (request.headers['proxy-authorization'] !== authorized) return void client.end('HTTP/1.1 407 No\r\n\r\n');
      const outside = connect(port, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n');
        outside.pipe(client).pipe(outside);
      }).on('error', () => client.destroy());
      client.on('close', () => outside.destroy());
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    t.after(() => proxy.close().closeAllConnections());
    const registry = 'http://packages.example:8081';
    setVariable(t, 'npm_config_registry', registry);
    const url = `http://builder:of-the-proxy@127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const outbound = testOutbound({ npm_config_registry: registry, HTTPS_PROXY: url, HTTP_PROXY: url });
    const { result, log, failure } = await buildIn(placeWith(t, registry), confinement, { outbound });
    assert.equal(result?.kind, 'dynamic', `${failure?.message}\n${log}`);
    assert.match(log, /^answered 200$/m);
    assert.ok(asked.includes('packages.example:8081/words/-/words-1.0.0.tgz'));
    assert.deepEqual([...new Set(led)], ['packages.example:8081']);
    assert.doesNotMatch(log, /of-the-proxy/);
  },
);
