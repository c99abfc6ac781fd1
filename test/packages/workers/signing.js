// stripe's webhooks and calls, and aws4fetch's signatures. Run by test/integration/packages.test.ts.
import { AwsClient } from 'aws4fetch';
import Stripe from 'stripe';

const stripe = new Stripe('sk_test_x', { maxNetworkRetries: 0 });

export default {
  async fetch(request, env) {
    switch (new URL(request.url).pathname) {
      case '/stripe': {
        const payload = await request.text();
        const header = request.headers.get('stripe-signature');
        try {
          return Response.json({
            later: (await stripe.webhooks.constructEventAsync(payload, header, 'whsec_test')).type,
          });
        } catch (error) {
          return Response.json({ error: error.type ?? String(error) }, { status: 400 });
        }
      }
      case '/stripe-header':
        return new Response(
          await stripe.webhooks.generateTestHeaderStringAsync({ payload: await request.text(), secret: 'whsec_test' }),
        );
      case '/stripe-call': {
        const url = new URL(env.API_URL);
        const client = new Stripe('sk_test_x', {
          host: url.hostname,
          port: url.port,
          protocol: 'http',
          maxNetworkRetries: 0,
        });
        return Response.json(await client.customers.create({ email: 'a@b.c' }));
      }
      default: {
        const aws = new AwsClient({
          accessKeyId: 'AKID',
          secretAccessKey: 'SECRET',
          service: 's3',
          region: 'eu-central-1',
        });
        const signed = await aws.sign('https://bucket.s3.eu-central-1.amazonaws.com/key', {
          method: 'PUT',
          body: 'x',
          headers: { 'X-Amz-Date': '20260101T000000Z' },
        });
        const query = await aws.sign('https://bucket.s3.eu-central-1.amazonaws.com/key?X-Amz-Expires=60', {
          aws: { signQuery: true, datetime: '20260101T000000Z' },
        });
        return Response.json({ header: signed.headers.get('authorization'), query: query.url });
      }
    }
  },
};
