// What code finds on its global object: nothing of the engine, and of the hooks for bundled modules only these members.
import { attacker, type Attack } from '#test/setup/hostile.ts';

const allowed = [
  'platform.node: crypto,cryptoLater,tcpConnect,tcpLookup,tcpOpen,zlib,zlibLater',
  'platform.rpc: exports,module',
  'platform.waitUntil: length,name,prototype',
  'module of platform.rpc: createLocalStub,innerOf',
  'a stub of platform.rpc: kind',
];

export default {
  kind: 'escape',
  worker: attacker(
    `const members = (value) => Reflect.ownKeys(value).map(String).sort().join();
    const found = Object.getOwnPropertyNames(globalThis).filter((name) => /ivm|native|leave|connect|platform/.test(name));
    const keys = Object.getOwnPropertySymbols(globalThis).filter((key) => !/toStringTag|platform\\.env/.test(String(key)));
    const { module } = globalThis[Symbol.for('platform.rpc')];
    const hooks = [
      ...keys.map((key) => key.description + ': ' + members(globalThis[key])),
      'module of platform.rpc: ' + members(module),
      'a stub of platform.rpc: ' + members(module.innerOf(module.createLocalStub({}))),
    ];
    const allowed = ${JSON.stringify(allowed)};
    return Response.json([found, hooks.filter((hook) => !allowed.includes(hook)), hooks.length]);`,
  ),
  attack: ({ get }) => get(),
  expect: `200 [[],[],${allowed.length}]`,
} satisfies Attack;
