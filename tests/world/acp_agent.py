"""An agent made with the public Python SDK of the Agent Client Protocol."""

import asyncio
import os

from acp import Agent, InitializeResponse, NewSessionResponse, PromptResponse, run_agent
from acp.helpers import (
    start_edit_tool_call,
    update_agent_message_text,
    update_agent_thought_text,
    update_tool_call,
)
from acp.schema import AgentCapabilities, PermissionOption, ToolCallUpdate


class Editor(Agent):
    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, client_capabilities=None, client_info=None, **kwargs):
        return InitializeResponse(protocol_version=protocol_version, agent_capabilities=AgentCapabilities())

    async def new_session(self, cwd, additional_directories=None, mcp_servers=None, **kwargs):
        self.cwd = cwd
        return NewSessionResponse(session_id="session-1")

    async def prompt(self, prompt, session_id, message_id=None, **kwargs):
        say = lambda update: self.client.session_update(session_id=session_id, update=update)
        path = os.path.join(self.cwd, "name.txt")
        await say(update_agent_thought_text("Which file?"))
        await say(update_agent_message_text("I look at the file. "))
        name = await self.client.read_text_file(session_id=session_id, path=path)
        await say(start_edit_tool_call("call-1", "Edit name.txt", path, "LOOM"))
        answer = await self.client.request_permission(
            session_id=session_id,
            tool_call=ToolCallUpdate(tool_call_id="call-1", kind="edit"),
            options=[
                PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
                PermissionOption(option_id="no", name="Reject", kind="reject_once"),
            ],
        )
        allowed = answer.outcome.outcome == "selected" and answer.outcome.option_id == "yes"
        if allowed:
            await self.client.write_text_file(session_id=session_id, path=path, content=name.content.upper())
        await say(update_tool_call("call-1", status="completed" if allowed else "failed"))
        words = "It is in capitals now." if allowed else "I was not allowed to."
        await say(update_agent_message_text(words))
        await say(update_agent_message_text(f" You said: {prompt[0].text}"))
        return PromptResponse(stop_reason="end_turn")


asyncio.run(run_agent(Editor()))
