// jose: signatures of five algorithms, and encryption for an RSA key. Run by test/integration/packages.test.ts.
import {
  CompactEncrypt,
  compactDecrypt,
  createLocalJWKSet,
  decodeProtectedHeader,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  importPKCS8,
  jwtVerify,
  SignJWT,
  calculateJwkThumbprint,
} from 'jose';

export default {
  async fetch() {
    const results = {};
    for (const alg of ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA']) {
      const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
      const token = await new SignJWT({ role: 'admin' })
        .setProtectedHeader({ alg, kid: 'k1' })
        .setIssuer('me')
        .setExpirationTime('1h')
        .sign(await importPKCS8(await exportPKCS8(privateKey), alg));
      const set = createLocalJWKSet({ keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg }] });
      const { payload } = await jwtVerify(token, set, { issuer: 'me' });
      results[alg] = [
        payload.role,
        decodeProtectedHeader(token).kid,
        (await calculateJwkThumbprint(await exportJWK(publicKey))).length,
      ];
    }
    const { publicKey, privateKey } = await generateKeyPair('RSA-OAEP-256');
    const sealed = await new CompactEncrypt(new TextEncoder().encode('hidden'))
      .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM' })
      .encrypt(publicKey);
    results.jwe = new TextDecoder().decode((await compactDecrypt(sealed, privateKey)).plaintext);
    return Response.json(results);
  },
};
