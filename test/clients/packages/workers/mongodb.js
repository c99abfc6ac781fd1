// mongodb's driver over sockets of a worker.
import { MongoClient } from 'mongodb';

export default {
  async fetch(request) {
    const { searchParams } = new URL(request.url);
    const client = new MongoClient(`mongodb://127.0.0.1:${searchParams.get('port')}/?directConnection=true`, {
      serverSelectionTimeoutMS: 5000,
    });
    try {
      await client.connect();
      const notes = client.db('shop').collection('notes');
      const { insertedCount } = await notes.insertMany([{ body: 'one' }, { body: 'two' }]);
      const found = await notes.find({ body: 'one' }).toArray();
      return Response.json({ insertedCount, found: found.map(({ body }) => body) });
    } finally {
      await client.close();
    }
  },
};
