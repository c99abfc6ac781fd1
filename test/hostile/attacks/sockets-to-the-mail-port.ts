// TCP sockets to port 25, which nothing opens: neither another spelling of the number nor what the operator allows.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'egress',
  worker: attacker(
    `const targets = ['8.8.8.8:25', '127.0.0.1:25', '127.0.0.1:0025', { hostname: '10.0.0.1', port: '25' }, { hostname: '127.0.0.1', port: 25.0 }, { hostname: 'mail.example', port: 25 }];
    const codes = await Promise.all(targets.map(async (target) => { try { await connect(target).opened; return 'open'; } catch ({ code, name }) { return code ?? name; } }));
    return new Response(codes.join());`,
    `import { connect } from 'cloudflare:sockets';`,
  ),
  environment: { WORKER_EGRESS_ALLOW: 'loopback,private' },
  attack: ({ get }) => get(),
  expect: `200 ${Array.from({ length: 6 }, () => 'egress_forbidden').join()}`,
} satisfies Attack;
