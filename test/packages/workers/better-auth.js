// better-auth with e-mail and password, in memory. Run by test/integration/packages.test.ts.
import { betterAuth } from 'better-auth';
import { memoryAdapter } from 'better-auth/adapters/memory';

const db = { user: [], session: [], account: [], verification: [] };
let auth;

export default {
  fetch(request) {
    auth ??= betterAuth({
      baseURL: new URL(request.url).origin,
      secret: 'a secret that is at least thirty-two characters long',
      database: memoryAdapter(db),
      emailAndPassword: { enabled: true },
      telemetry: { enabled: false },
    });
    return auth.handler(request);
  },
};
