import { Form, useActionData, type ActionFunctionArgs } from 'react-router';

export async function action({ request }: ActionFunctionArgs) {
  return { name: String((await request.formData()).get('name')) };
}

export default function Send() {
  const sent = useActionData<typeof action>();
  return (
    <Form method="post">
      <input name="name" />
      <button>Send</button>
      {sent && <p>Thanks, {sent.name}</p>}
    </Form>
  );
}
