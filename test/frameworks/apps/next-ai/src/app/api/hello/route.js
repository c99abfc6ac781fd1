import { generateText } from 'ai';

export const dynamic = 'force-dynamic';

// The mock model says what it was told.
export async function GET(request) {
  const prompt = new URL(request.url).searchParams.get('name');
  const { text } = await generateText({ model: 'mock/echo', prompt });
  return Response.json({ hello: text });
}
