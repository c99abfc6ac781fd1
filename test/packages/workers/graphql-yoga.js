// graphql-yoga: queries, errors and a subscription over server-sent events. Run by test/integration/packages.test.ts.
import { createSchema, createYoga } from 'graphql-yoga';

const yoga = createYoga({
  graphqlEndpoint: '/graphql',
  schema: createSchema({
    typeDefs:
      'type Query { hello(name: String!): String! fails: Int } type Subscription { countdown(from: Int!): Int! }',
    resolvers: {
      Query: {
        hello: (_, { name }) => `Hello ${name}`,
        fails: () => {
          throw new Error('on purpose');
        },
      },
      Subscription: {
        countdown: {
          async *subscribe(_, { from }) {
            for (let value = from; value >= 0; value--) yield { countdown: value };
          },
        },
      },
    },
  }),
});

export default { fetch: (request, env, ctx) => yoga.fetch(request, env, ctx) };
