// A server that speaks S3, in a process of its own: it makes the marks of its pages with a cipher that OpenSSL offers
// only with --openssl-legacy-provider. Says its port; ends with its parent.
import S3rver from 's3rver';

const server = new S3rver({
  port: 0,
  address: '127.0.0.1',
  silent: true,
  directory: process.argv[2],
  configureBuckets: [{ name: 'files', configs: [] }],
});
const { port } = await server.run();
process.send({ port });
process.on('disconnect', () => process.exit(0));
