// What a client's script is given by the environment, and the loop of a client without a model.
export const url = process.env.SEAT_URL ?? '';
export const headers = { Authorization: `Bearer ${process.env.SEAT_TOKEN ?? ''}` };
const [command, ...args] = JSON.parse(process.env.SEAT_COMMAND ?? '[""]');
// The seat as files and frameworks write a server down.
export const server = url ? { url, headers } : { command, args };
export const prompt = 'Play your seat until the episode is over.';
// Frameworks take the address of an OpenAI-compatible model from here.
Object.assign(process.env, { OPENAI_BASE_URL: `${process.env.MODEL_URL}/v1`, OPENAI_API_KEY: 'none' });

async function nextCall(last) {
  const answer = await fetch(`${process.env.MODEL_URL}/step`, { method: 'POST', body: JSON.stringify({ last }) });
  return answer.json();
}

export async function play(client, transport) {
  await client.connect(transport);
  await client.listTools();
  for (let call = await nextCall(''); !call.over; ) {
    const answer = await client.callTool({ name: call.tool, arguments: call.arguments });
    call = await nextCall(answer.content[0].text);
  }
  await client.close();
}
